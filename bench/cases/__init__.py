"""One module a case; each has ``cases(quick) -> list[Case]``."""
