"""One module a row of the table; each has ``cases(ground) -> list[Case]``."""
