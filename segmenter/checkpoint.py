"""Checkpoint folders: model, tokenizer and settings, read and written.

A folder is a plain ``transformers`` sequence classifier of two labels with a ``segmenter.json``
beside it. Without that file the defaults of the published recipe hold. Weights are read and written
as safetensors only.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import file_digest, sha256
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

from segmenter.config import CheckpointConfig
from segmenter.errors import CheckpointError, ConfigError
from segmenter.windows import SPECIAL_TOKENS

if TYPE_CHECKING:
    from torch import nn
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

__all__ = [
    "SETTINGS_FILE",
    "Checkpoint",
    "LightCheckpoint",
    "check_files",
    "read_settings",
    "round_to_stored",
    "weights_digest",
    "weights_hash",
    "write_checkpoint",
]

SETTINGS_FILE = "segmenter.json"

_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
_BARE_CONTEXT = 64
_MOST_DIGESTED = 1 << 16
_BARE = CheckpointConfig(context=_BARE_CONTEXT, paragraph_mark="[unused1]")
"""Settings of an encoder that is yet to be trained; the mark, where its vocabulary has it."""

_PICKLED = ("pytorch_model.bin", "model.pt", "model.pth", "pytorch_model.bin.index.json")


@dataclass(frozen=True, kw_only=True, slots=True)
class LightCheckpoint:
    """What reading needs of a checkpoint.

    :ivar folder: Where it was read from.
    :ivar model: The classifier, in float32, on the CPU.
    :ivar vocabulary: Turns text into token ids.
    :ivar config: Its settings.
    :ivar max_positions: Most tokens of a window, special ones included.
    :ivar cls_id: Id of the first token of a window.
    :ivar sep_id: Id of the separator.
    :ivar pad_id: Id of padding.
    :ivar unk_id: Id of what the vocabulary does not know, or None.
    :ivar mark_id: Id of the paragraph mark, or None if the checkpoint knows no marks.
    """

    folder: Path
    model: "nn.Module"
    vocabulary: Tokenizer
    config: CheckpointConfig
    max_positions: int
    cls_id: int
    sep_id: int
    pad_id: int
    unk_id: int | None
    mark_id: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint(LightCheckpoint):
    """A checkpoint to train, to change and to write, as transformers knows it.

    :ivar tokenizer: Its tokenizer.
    """

    model: "PreTrainedModel"
    tokenizer: "PreTrainedTokenizerBase"

    @classmethod
    def load(cls, folder: Path, *, new_head: bool = False) -> "Checkpoint":
        """Read a folder.

        :param folder: The checkpoint.
        :param new_head: Whether a bare encoder will do, which then gets a classifier that knows nothing yet.
        :return: The loaded checkpoint.
        :raises CheckpointError: If a file is missing or damaged, or is not what this package needs.
        """
        check_files(folder)
        config, has_settings = read_settings(folder)
        model, is_bare = _load_model(folder, new_head)
        tokenizer = _load_tokenizer(folder)
        if is_bare:
            mark = _BARE.paragraph_mark if _BARE.paragraph_mark in tokenizer.get_vocab() else None
            widest = (min(_positions(model), tokenizer.model_max_length) - SPECIAL_TOKENS) // 2
            config = replace(_BARE, paragraph_mark=mark, context=min(_BARE_CONTEXT, widest))
        elif not has_settings:
            config = replace(config, boundary_label=_boundary_label(model.config))
        ids = {name: getattr(tokenizer, f"{name}_token_id") for name in ("cls", "sep", "pad")}
        if missing := [name for name, value in ids.items() if value is None]:
            raise CheckpointError(
                f"the tokenizer in {folder} has no {', '.join(missing)} token, which windows are made of; "
                "expected a BERT-like encoder"
            )
        largest = max(tokenizer.get_vocab().values())
        if largest >= model.config.vocab_size:
            raise CheckpointError(
                f"the tokenizer in {folder} has ids up to {largest}, but its model knows only "
                f"{model.config.vocab_size} tokens: they do not belong together"
            )
        mark_id = None
        if config.paragraph_mark is not None:
            mark_id = tokenizer.backend_tokenizer.token_to_id(config.paragraph_mark)
            if mark_id is None:
                raise CheckpointError(
                    f"{SETTINGS_FILE} in {folder} names the paragraph mark {config.paragraph_mark!r}, "
                    "which its tokenizer does not have"
                )
        return cls(
            folder=folder,
            model=model,
            tokenizer=tokenizer,
            vocabulary=tokenizer.backend_tokenizer,
            config=config,
            max_positions=min(_positions(model), tokenizer.model_max_length),
            cls_id=ids["cls"],
            sep_id=ids["sep"],
            pad_id=ids["pad"],
            unk_id=tokenizer.unk_token_id,
            mark_id=mark_id,
        )


def weights_hash(folder: Path) -> str:
    """Tell weights from others.

    :param folder: A checkpoint.
    :return: A hash of its weight files, hexadecimal.
    """
    found = sha256()
    for path in sorted(folder.glob("*.safetensors")):
        state = path.stat()
        found.update(_digest(path, state.st_mtime_ns, state.st_size, state.st_ino))
    return found.hexdigest()


@lru_cache(maxsize=8)
def _digest(path: Path, *_state: int) -> bytes:
    """Hash a file, once as long as its state says that it is the same one."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").digest()


def weights_digest(model: "nn.Module") -> str:
    """Tell loaded weights from others, by the small ones, which training changes too and which take no time.

    :param model: A model on the CPU.
    :return: A hash of its biases, norms and its classifier, hexadecimal.
    """
    found = sha256()
    for name, weight in model.named_parameters():
        if weight.numel() <= _MOST_DIGESTED:
            found.update(name.encode())
            found.update(weight.detach().float().numpy().tobytes())
    return found.hexdigest()


def write_checkpoint(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    config: CheckpointConfig,
    folder: Path,
    texts: Mapping[str, str] | None = None,
) -> None:
    """Write a checkpoint that any loader of the ecosystem can read.

    Weights are stored in float16, while ``config.json`` asks for float32, so that a plain load
    computes in float32.

    :param model: The classifier.
    :param tokenizer: Its tokenizer.
    :param config: Its settings.
    :param folder: Where to; made if it is missing.
    :param texts: Further text files to put beside it, by name.
    :raises CheckpointError: If it cannot be written.
    """
    import torch
    from safetensors.torch import save

    state = {
        name: (value.half() if value.is_floating_point() else value).contiguous()
        for name, value in model.state_dict().items()
    }
    network = deepcopy(model.config)
    network.dtype = torch.float32
    network.architectures = [type(model).__name__]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".partial-", dir=folder) as partial:
            # Files appear whole, by rename: the old weights may be mapped into a running model.
            Path(partial, "model.safetensors").write_bytes(save(state, metadata={"format": "pt"}))
            network.to_json_file(Path(partial, "config.json"))
            Path(partial, SETTINGS_FILE).write_text(config.to_json(), encoding="utf-8")
            _write_tokenizer(tokenizer, model, Path(partial))
            for name, text in (texts or {}).items():
                Path(partial, name).write_text(text, encoding="utf-8")
            # config.json last: a folder that has it is whole.
            for path in sorted(Path(partial).iterdir(), key=lambda path: path.name == "config.json"):
                path.replace(folder / path.name)
    except OSError as error:
        raise CheckpointError(f"cannot write a checkpoint to {folder}: {error}") from error


def round_to_stored(model: "PreTrainedModel") -> None:
    """Round weights as a checkpoint will hold them, so that what is fitted to a model fits its copy.

    :param model: The classifier; changed in place.
    """
    for weight in model.parameters():
        weight.data.copy_(weight.data.half())


def _write_tokenizer(tokenizer: "PreTrainedTokenizerBase", model: "PreTrainedModel", folder: Path) -> None:
    """Write a tokenizer without the padding, truncation and paths that a session left in it."""
    tokenizer.save_pretrained(folder)
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_padding()
    backend.no_truncation()
    (folder / "tokenizer.json").write_text(backend.to_str(pretty=True), encoding="utf-8")
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    for name in ("is_local", "local_files_only", "max_length", "name_or_path", "pad_to_multiple_of"):
        settings.pop(name, None)
    settings["model_max_length"] = min(tokenizer.model_max_length, _positions(model))
    # A DistilBERT takes no token types, whatever a BERT tokenizer would give.
    accepted = signature(model.forward).parameters
    settings["model_input_names"] = [name for name in tokenizer.model_input_names if name in accepted]
    path.write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def check_files(folder: Path) -> None:
    """Make sure that a folder has what a checkpoint needs.

    :param folder: The folder.
    :raises CheckpointError: If a file is missing or damaged.
    """
    if not (folder / "config.json").is_file():
        raise CheckpointError(
            f"{folder} has no config.json, expected a checkpoint folder with config.json, "
            "model.safetensors and a tokenizer"
        )
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        if pickled := [name for name in _PICKLED if (folder / name).exists()]:
            raise CheckpointError(
                f"{folder} has its weights only as {pickled[0]}, a pickle, which can run code when it is "
                "loaded; convert them to model.safetensors first (save_pretrained of transformers does)"
            )
        raise CheckpointError(
            f"{folder} has no model.safetensors; weights in other formats, such as pytorch_model.bin, "
            "have to be converted first (save_pretrained of transformers does)"
        )
    from safetensors import SafetensorError, safe_open

    for path in weights:
        try:
            with safe_open(path, framework="numpy"):
                pass
        except (SafetensorError, OSError) as error:
            raise CheckpointError(
                f"{path} is damaged, cut short or unreadable ({error}); copy or download it again"
            ) from error


def read_settings(folder: Path) -> tuple[CheckpointConfig, bool]:
    """Read the settings of a checkpoint.

    :param folder: The checkpoint.
    :return: The settings, and whether it has any of its own.
    :raises CheckpointError: If the file is damaged.
    """
    path = folder / SETTINGS_FILE
    if not path.is_file():
        return CheckpointConfig(), False
    try:
        return CheckpointConfig.from_json(path.read_text(encoding="utf-8")), True
    except (ConfigError, UnicodeDecodeError, OSError) as error:
        raise CheckpointError(f"cannot read {path}: {error}") from error


def _load_model(folder: Path, new_head: bool) -> "tuple[PreTrainedModel, bool]":
    """The model, and whether its head is new."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the classes that transformers checks a config with vary
        raise CheckpointError(f"cannot read {folder / 'config.json'}: {error}") from error
    if config.num_labels != 2:
        raise CheckpointError(
            f"the model in {folder} has {config.num_labels} labels, expected 2 (same section, different "
            "section); train it as a pair classifier first"
        )
    try:
        with _quiet_transformers():
            model, report = AutoModelForSequenceClassification.from_pretrained(
                folder,
                config=config,
                dtype=torch.float32,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except Exception as error:  # whatever a config of wrong sizes makes torch raise
        raise CheckpointError(f"cannot load the model in {folder}: {error}") from error
    missing = sorted(report["missing_keys"])
    is_bare = bool(missing) and not any(name.startswith(f"{model.base_model_prefix}.") for name in missing)
    if missing and not (new_head and is_bare):
        raise CheckpointError(
            f"the weights in {folder} lack {', '.join(missing[:4])}{' and more' if missing[4:] else ''}: "
            "expected a sequence classifier, not a bare encoder; train it first"
        )
    loaded: PreTrainedModel = model
    if is_bare:
        network = loaded.config
        network.id2label, network.label2id = {0: "SAME", 1: "DIFFERENT"}, {"SAME": 0, "DIFFERENT": 1}
    return loaded, is_bare


def _load_tokenizer(folder: Path) -> "PreTrainedTokenizerBase":
    from transformers import AutoTokenizer

    # Without a vocabulary transformers would make an empty tokenizer.
    if not any(path for pattern in _TOKENIZERS for path in folder.glob(pattern)):
        raise CheckpointError(f"{folder} has no tokenizer, expected tokenizer.json or vocab.txt")
    try:
        with _quiet_transformers():
            tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
                folder, local_files_only=True, use_fast=True, trust_remote_code=False
            )
    except Exception as error:  # tokenizers has no error class of its own
        raise CheckpointError(f"cannot load the tokenizer in {folder}: {error}") from error
    if not tokenizer.is_fast:
        raise CheckpointError(
            f"the tokenizer in {folder} has no fast form; save it with tokenizer.json "
            "(save_pretrained of a fast tokenizer does)"
        )
    return tokenizer


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Keep progress bars and load reports of transformers off a user's terminal."""
    from transformers.utils import logging

    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()


def _boundary_label(config: "PretrainedConfig") -> int:
    """Label 1, unless the names of the labels say otherwise."""
    names = {int(label): str(name).upper() for label, name in (config.id2label or {}).items()}
    return 0 if names.get(0) == "DIFFERENT" or names.get(1) == "SAME" else 1


def _positions(model: "PreTrainedModel") -> int:
    """Positions a text may take: RoBERTa's kind spends its first ones on padding."""
    total: int | None = getattr(model.config, "max_position_embeddings", None)
    if total is None:
        raise CheckpointError(
            f"a {type(model).__name__} does not say how many positions it has; expected a BERT-like encoder"
        )
    for name, module in model.named_modules():
        if name.endswith("position_embeddings"):
            padding: int | None = getattr(module, "padding_idx", None)
            return total if padding is None else total - padding - 1
    return total
