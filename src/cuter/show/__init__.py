"""All that is drawn: tables, charts, pictures and pages, for runs and tables alike."""
