//! Options, errors and output to a terminal that commands share.
//!
//! | module | subject |
//! | --- | --- |
//! | `options` | configuration keys as options |
//! | `remote`, `rest`, `oauth` | options of a server over HTTP, of a REST API, and of logins, which open pages in a browser |
//! | `failure` | errors with the exit code of wrong usage, and failures as JSON |
//! | `launcher` | installs the package of a server before it starts |
//! | `terminal` | the width of a terminal, what takes long, lines on stdout and stderr, and the log |

pub(crate) mod failure;
pub(crate) mod launcher;
pub(crate) mod oauth;
pub(crate) mod options;
pub(crate) mod remote;
pub(crate) mod rest;
pub(crate) mod terminal;
