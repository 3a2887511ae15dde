"""The report: one page that compares runs, for a browser."""

from cuter.experiment.report.page import write_report

__all__ = ["write_report"]
