"""Where and how the runs of a table are executed: on this machine, or on a Ray cluster."""
