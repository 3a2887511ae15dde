"""The report: one page that compares runs, for a browser, and its table for the terminal."""

from cuter.show.report.page import write_report
from cuter.show.run_labels import read_runs
from cuter.show.run_tables import comparison_table

__all__ = ["comparison_table", "read_runs", "write_report"]
