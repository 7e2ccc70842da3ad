"""A benchmark's report for reading: charts, Markdown, HTML, PNG and plain text, from the same values."""
