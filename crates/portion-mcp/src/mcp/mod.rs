//! MCP messages: what is answered, rewritten or relayed between a client and a server.
//!
//! Messages are relayed as the bytes that were received. A message is parsed once into spans (`envelope`);
//! where something has to change, only that span is rewritten (`walk`). No message is ever parsed into
//! values and serialized again, so unknown methods, vendor fields, number spelling and key order are
//! preserved in every revision of the protocol.
//!
//! - `processor`: the table of methods and their handling, and the pending requests
//! - `result`: from a result to a payload, and from a portion back into the result
//! - `catalog`: the tools that `tools/list` reports, those that the gateway adds, and the style of the list
//! - `member_limits`: size limits outside payloads, and reserved `_meta` members of servers, which are removed
//! - `parsed_batch`: the view of a message that a transport needs; a parsed text that is passed on, or a
//!   received line of the client
//! - `request_headers`: all header fields in which HTTP repeats parts of a message
//! - `controls`: the gateway's own parameters among the arguments of a call, or in a URI of
//!   the gateway
//!
//! Must be absent: knowledge of how a portion is made, and IO.

mod argument_names;
mod catalog;
mod controls;
pub mod envelope;
mod member_limits;
mod parsed_batch;
mod processor;
pub mod request_headers;
mod result;
mod walk;

pub use catalog::builtin_listings;
pub use controls::parse_read_arguments;
pub(crate) use envelope::NULL_ID;
pub use envelope::RequestIdMap;
pub use parsed_batch::{
    ClientMessage, InvalidMessage, MessageKind, MessageView, OwnedBatch, ParsedBatch, replace_spans,
};
pub(crate) use processor::DormantProcessor;
pub use processor::{McpProcessor, McpProcessorFactory, ResponseFuture, UpstreamCaller};
pub use request_headers::{HeaderArgument, HeaderParam};
pub use result::NEXT_PAGE_KEY;
