"""The report: one page that compares runs, for a browser, and its table for the terminal."""

from cuter.experiment.report.names import read_runs
from cuter.experiment.report.page import write_report
from cuter.experiment.report.terminal import comparison_table

__all__ = ["comparison_table", "read_runs", "write_report"]
