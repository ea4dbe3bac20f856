"""Tasks of category B: documents and reports."""
