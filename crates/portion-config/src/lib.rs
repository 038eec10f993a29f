//! Reads, checks and watches the operator's configuration: one file, environment variables and options
//! become a [`PolicySource`](portion_policy::endpoint::PolicySource), or all errors at once.
//!
//! Everything is derived from one table, [`Key::all`](key::Key::all): parsing, the names of variables and
//! options, suggestions for misspelled keys, the schema, the documentation page, and `config show`. Only
//! [`mod@find`] looks for the file and reads the environment; [`watch`] and [`history`] access files as
//! well.
//!
//! ```
//! use portion_config::{Config, Sources};
//! use portion_policy::endpoint::{EndpointTarget, PolicySource as _};
//!
//! let file = ("portion.yaml".into(), "endpoints:\n  list_*:\n    defaultPageSize: 20\n".to_owned());
//! let sources = Sources { file: Some(file), ..Sources::default() };
//! let (config, _warnings) = Config::load(&sources, 1)?;
//! let bookings = config.endpoint_config(Some(EndpointTarget::from_name("list_bookings")));
//! assert_eq!(bookings.limits.default_page_size, Some(20));
//! # Ok::<(), portion_config::Errors>(())
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `key` | the table of all keys (`definitions`, by group). Parsing (`kind`), variables, options, schema, manual and `config show` follow from it |
//! | `document` | YAML and JSON as one tree with positions, within limits, without recursion |
//! | `find` | file, variables and options by priority; where the file is; directories of the user |
//! | `named_file` | reads a file, pipe or device that a user names, within a size and a time |
//! | `read`, `settings`, `value` | from documents to settings with their origins, with all errors at once. `settings` never shows a line that may hold a secret |
//! | `profile` | configurations for known APIs, as YAML files that are part of the program; it also recognises the profile of a server by its tools |
//! | `reference` | `${NAME}` and `${file:…}` |
//! | `pattern`, `config/cascade` | the endpoints of a rule; the most specific rule wins, key by key |
//! | `config` | one immutable version. `endpoint_config` turns keys into limits and options, `check` finds contradictions, `upstream` reads the servers |
//! | `watch`, `live`, `history` | a changed file, read once it is complete; the version in force, and how two versions differ; earlier versions |
//! | `show`, `template` | output for people and programs: the reference of all keys, and the schema |

pub mod config;
pub mod document;
pub mod find;
pub mod history;
pub mod key;
pub mod live;
pub mod named_file;
pub mod pattern;
pub mod profile;
mod read;
pub mod reference;
pub mod settings;
pub mod show;
pub mod template;
pub mod value;
pub mod watch;

pub use crate::settings::{Errors, Problem, Warnings};
pub use config::{
    AlertSettings, Config, LoginConfig, OAuthConfig, OtlpTarget, RestConfig, ServerConfig, Upstream,
};
pub use find::{Sources, find};
pub use live::diff;
pub use reference::SecretResolver;
pub use show::{show, show_json};
pub use template::schema;
pub use template::{json_template, template};
