//! What is remembered of requests and of the configuration: sizes, times and codes, never content.
