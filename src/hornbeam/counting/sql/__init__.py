"""The engines that search by SQL: DuckDB and Spark."""
