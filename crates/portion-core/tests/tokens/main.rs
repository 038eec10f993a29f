//! The laws of counting, on made-up payloads of the kinds that tools return and on hostile ones.

mod hostile;
mod laws;
mod oracle;
mod texts;
