"""The index as files for other programs: references, pages and domains in Parquet, CSV or JSON lines."""
