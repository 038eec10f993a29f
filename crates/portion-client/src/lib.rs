//! A budgeted client of retrieval tools: orders the chunks of a result by score and keeps whole ones while they fit a
//! token budget. [`check`] reads what a server's tools answer and proposes settings.
//!
//! [`read_chunks`](read::read_chunks) finds the chunks in the result of a tool, [`select`](select::select) chooses those
//! that are kept. Both are pure: equal input gives equal output. [`fetch`](fetch::fetch) calls the tool first, with a
//! [`Client`](client::Client).
//!
//! ```
//! use portion_client::read::{FieldNames, read_chunks};
//! use portion_client::select::{Fill, select};
//! use portion_tokens::Tokenizer;
//!
//! let result = r#"{"content":[],"structuredContent":{"results":[
//!     {"id":"a","text":"A grapple ends when the target breaks free.","score":0.4},
//!     {"id":"b","text":"You can use an action to grapple a creature.","score":0.9}]}}"#;
//! let chunks = read_chunks(result, &FieldNames::default())?;
//! let kept = select(chunks, 11, Tokenizer::Len4.counter(), Fill::Stop);
//! assert_eq!(kept.chunks[0].id.as_deref(), Some("\"b\""));
//! assert_eq!((kept.tokens, kept.dropped.len(), kept.is_truncated()), (11, 1, true));
//! # Ok::<(), portion_client::read::ReadError>(())
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `read` | chunks in a tool's result: `tool_result` takes it apart, `list` finds the list, `fields` has the usual names, `json` steps through JSON text |
//! | `select` | order and budget: the most valuable set of chunks |
//! | `chunk` | `Chunk`, `FetchResult`, and its JSON |
//! | `client` | a small MCP client on the links of `portion-mcp`: `connection` has the requests, and opens a session or uses 2026-07-28, `shortened` reads the rest of a result that a Portion on the way shortened |
//! | `fetch` | call, read, select |
//! | `check` | what the tools of a server and their results show, and proposed settings |

pub mod check;
mod chunk;
pub mod client;
pub mod fetch;
pub mod read;
pub mod select;

pub use chunk::{Chunk, DropReason, DroppedChunk, FetchResult};
