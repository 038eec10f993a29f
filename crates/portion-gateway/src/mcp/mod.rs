//! The MCP lane: what is made of each JSON-RPC message between a client and a server.
//!
//! Messages are relayed as the bytes that came. A message is read once into spans
//! (`envelope`); where something has to change, only that place is rewritten (`splice`). No message is
//! ever turned into values and back, so unknown methods, vendor fields, number spelling and key order
//! pass whatever the revision of the protocol.
//!
//! - `lane`: the table from method to what is done, and the requests that wait
//! - `result`: from a result to a payload, and from a portion back into the result
//! - `catalogue`: what `tools/list` teaches us, what we add to it, and how much of it we list
//! - `bound`: what passes beside payloads, within limits; `forged`: what a server says in our name, taken out
//! - `heard`: what a transport must know of a message to carry it
//! - `ids`: things by the ids of requests
//! - `mirrored`: arguments that are repeated in header fields
//! - `mirror`: all that HTTP repeats of a message in its header fields
//! - `controls`: our own parameters, taken out of a call's arguments; `query`: the same in a URI of ours
//!
//! Must be absent here: any idea of how a portion is made, and any IO.

mod catalog;
mod controls;
mod envelope;
pub mod error_code;
mod header_params;
mod member_limits;
mod parsed_batch;
mod processor;
mod processor_factory;
mod read_uri;
pub mod request_headers;
mod request_id_map;
mod reserved_meta;
mod result;
mod splice;
mod walk;

pub use catalog::{
    AdvertisePolicy, DESCRIBE_TOOL, ListingOptions, ListingStyle, QUERY_TOOL, READ_TOOL, UnknownListingStyle,
};
pub use header_params::{HeaderArgument, HeaderParam};
pub use parsed_batch::{
    InvalidMessage, MessageKind, MessageView, ParsedBatch, replace_spans, request_whole_results,
};
pub use processor::McpProcessor;
pub use processor_factory::McpProcessorFactory;
pub use request_id_map::RequestIdMap;
