//! Cron in the Quartz dialect, and scheduled jobs that run once across all replicas.
