//! Servers that run, and the gateway in front of them.
//!
//! | module | subject |
//! | --- | --- |
//! | `setup`, `storage`, `observers`, `server` | builds the gateway from the configuration and client limits in the environment; its store and secrets; the observers of its events, alerts among them, and where these are posted; the backend of each server |
//! | `admin`, `dashboard` | `/health`, `/metrics` and the dashboard, on which a person signs in |
//! | `access` | authentication as configured; callers of `portion http` |
//! | `listening` | a listener until a signal ends it, and the check for `--insecure` |
//! | `process` | re-executes long-running commands with settings of glibc that return memory to the system; the watchdog that ends the servers if this process is killed |
//! | `stdio_client` | the MCP client of `doctor`, `try` and the demo |
//! | `shaper` | shapes results outside of a connection, and keeps them: for `portion shape --requests`, which answers lines of stdin, and for `portion replay` |

pub(crate) mod access;
pub(crate) mod admin;
pub(crate) mod dashboard;
pub(crate) mod listening;
pub(crate) mod observers;
pub(crate) mod process;
pub(crate) mod server;
pub(crate) mod setup;
pub(crate) mod shaper;
pub(crate) mod stdio_client;
pub(crate) mod storage;
