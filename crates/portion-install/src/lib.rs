//! Puts Portion in front of the MCP servers in the configuration files of clients, and takes it out again.
//!
//! [`install`] and [`uninstall`] are pure: they map the text of a configuration file to the edited text and a list of
//! changes. They replace byte ranges and nothing else, so comments, order, indentation, line ends and unknown keys stay
//! as they are. [`client`] knows the files of each client, [`plan`] applies the edits to many files as a whole, and
//! [`mod@file`] reads and writes.
//!
//! ```
//! use portion_install::{Target, format::Format, install, uninstall};
//!
//! let text = r#"{"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"]}}}"#;
//! let target = Target { program: "/usr/bin/portion", include_http: false, options: &[] };
//! let edited = install(text, Format::MCP_SERVERS, &target, &|_| true).unwrap();
//! assert!(edited.text.contains(r#"["wrap", "--server", "git", "--", "uvx", "mcp-server-git"]"#));
//! assert_eq!(uninstall(&edited.text, Format::MCP_SERVERS, &|_| true).unwrap().text, text);
//! ```
//!
//! # Modules
//!
//! `install` and `uninstall` are functions of a text. `document` finds the servers and the byte ranges of what can be replaced, `wrap`
//! returns splices, and nothing outside of them is written again.
//!
//! | module | subject |
//! | --- | --- |
//! | `format`, `document` | where a client has its servers; entries with byte ranges, their replacements, of JSON with comments and of TOML |
//! | `wrap`, `remote` | the edits of an entry: forth, back, and of servers with a URL |
//! | `invocation` | the command line of `portion wrap`, written and recognised |
//! | `edit` | the check that they do what is reported; the preview |
//! | `client` | the clients and their files on each operating system |
//! | `file`, `plan` | reading, atomic replacement, backups; the edits of several files as a whole |

pub mod client;
pub mod document;
pub mod edit;
pub mod file;
pub mod format;
pub mod invocation;
pub mod plan;
mod remote;
mod wrap;

pub use crate::wrap::uninstall;
pub use document::ParseError;
pub use edit::{Change, Edited, Outcome};
pub use invocation::Target;
pub use wrap::install;
