//! What an operator decides, and how that may change while we run: one file, environment variables, and options become a
//! [`Book`](portion_gateway::book::Book), or every error at once.

pub mod history;
pub mod watch;
