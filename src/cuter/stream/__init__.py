"""What arrives: data sets, labels, tasks, batches."""
