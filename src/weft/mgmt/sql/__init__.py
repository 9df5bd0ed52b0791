"""The control plane over a database: one text of SQL for SQLite and PostgreSQL."""
