"""For other libraries; each module needs the extra of its name."""
