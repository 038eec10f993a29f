//! MCP: messages, tool lists, results, and the transports on both sides.
//!
//! [`relay`] carries messages between a [`front`] and an [`upstream`] and passes each to a message processor.
//! The processor of [`mcp`] takes the payload out of each result and passes it to `portion_gateway`, which makes
//! every reply with content.
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `mcp` | MCP messages. `processor` handles them by the table in `processor/method`; `envelope` and `walk` parse and edit messages in place; `result` converts results; `catalog` edits tool lists; `controls` parses the gateway's own arguments; `parsed_batch` and `request_headers` are the view for transports; its `OwnedBatch` is a parsed text, passed on from the HTTP server to the session and the processor, or the line of a client over stdio; `member_limits` bounds what is outside payloads |
//! | `frame`, `relay` | messages on byte streams; what is kept of one over the limit; the ids that a line which is no message may answer (`batch_members`); the loop between a client on stdio and a server |
//! | `message_processor` | the interface between loops and `mcp` |
//! | `http` | shared by both sides: bodies, server-sent events, compression, hop-by-hop fields |
//! | `front` | connections from clients: over `http`, or on stdin and stdout; signals, and the deadline of a shutdown |
//! | `upstream` | connections to servers: the program of a server, whose last lines on stderr are kept, `stdio` runs a child process, `process_group` (on Windows: job objects) ends it with its descendants, also for callers without a runtime, `http` sends requests, `link` is a message link over any of these |
//! | `bridge` | the backend in front of a server with one message stream |
//! | `proxy` | the backend in front of a server over streamable HTTP. `session` keeps its sessions, in little memory while nothing uses them |
//! | `once` | a flag that is set once and awaited by tasks; an attempt, such as a connection, that runs once for all callers that need it |

pub mod bridge;
pub mod frame;
pub mod front;
pub mod http;
pub mod mcp;
pub mod message_processor;
pub mod once;
pub mod proxy;
pub mod relay;
pub mod upstream;
