//! Properties of token counters, checked on generated payloads of tools and on hostile ones.

mod hostile;
mod laws;
mod oracle;
mod texts;
