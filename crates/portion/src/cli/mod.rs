//! Options, errors and output to a terminal that commands share.
//!
//! | module | subject |
//! | --- | --- |
//! | `options` | configuration keys as options |
//! | `remote`, `rest` | options of a server over HTTP, and of logins, which open pages in a browser; those of a REST API |
//! | `failure` | errors with the exit code of wrong usage, and failures as JSON; errors for which a command would not start with a valid configuration: `config check` reports them, and a running process keeps its configuration |
//! | `launcher` | installs the package of a server before it starts; paths that its command line names |
//! | `terminal` | the width of a terminal, what takes long, lines on stdout and stderr, and the log |

pub(crate) mod failure;
pub(crate) mod launcher;
pub(crate) mod options;
pub(crate) mod remote;
pub(crate) mod rest;
pub(crate) mod terminal;
