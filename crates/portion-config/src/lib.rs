//! What an operator decides, and how that may change while we run: one file, environment variables, and options become a
//! [`PolicySource`](portion_gateway::policy_source::PolicySource), or every error at once.
//!
//! Everything follows from one table, [`Key::all`](key::Key::all): what is read and how, the names of variables and
//! options, tips for names that are none, the schema, the page of the documentation, and what is shown. Only [`mod@find`] reads files and the
//! environment; all else is made of what it is given.

pub mod config;
pub mod diff;
pub mod document;
pub mod find;
pub mod history;
pub mod key;
pub mod live;
pub mod manual;
pub mod origin;
pub mod pattern;
pub mod problem;
mod read;
pub mod reference;
pub mod schema;
pub mod settings;
pub mod show;
pub mod sources;
pub mod user_dirs;
pub mod value;
pub mod watch;

pub use config::{AlertSettings, Config, OtlpTarget, ServerConfig, Upstream};
pub use diff::diff;
pub use find::find;
pub use problem::{Errors, Problem, Warnings};
pub use schema::schema;
pub use show::show;
pub use sources::{SecretResolver, Sources};
