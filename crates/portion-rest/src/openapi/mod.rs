//! `OpenAPI` documents: their operations, the tools that stand for operations, and the HTTP requests of calls.
//!
//! Nothing here does IO. A [`Document`] is parsed once. [`ToolSet::build`] turns its operations into tools, and
//! [`Tool::request`] turns the arguments of a call into a request.
//!
//! ```
//! use portion_rest::openapi::{Document, ToolOptions, ToolSet};
//!
//! let document = Document::parse("openapi: 3.1.0\npaths:\n  /bookings/{id}:\n    get: {operationId: getBooking}\n")?;
//! let tools = ToolSet::build(&document, &ToolOptions::default())?;
//! let request = tools.tools[0].request(r#"{"id": "BK 1"}"#)?;
//! assert_eq!((request.method, request.path.as_str()), ("GET", "/bookings/BK%201"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `document`, `operation` | the document, its references, and its operations |
//! | `described` | tools that an operator describes |
//! | `parameter`, `body`, `response` | parameters, bodies, and responses that are lists, as the document describes them |
//! | `schema`, `schema_keywords` | schemas as JSON Schema 2020-12, within a size |
//! | `name`, `description` | what clients see of a tool besides its schema and its hints |
//! | `tool`, `tool_set` | a tool; the chosen tools of a document |
//! | `arguments`, `request` | the arguments of a call as written, and the requests that they make: `path`, which makes one for each value of a list in it, `styles`, `form`, `encode` |

mod arguments;
mod body;
mod described;
mod description;
mod document;
mod name;
mod operation;
mod parameter;
pub mod percent;
mod request;
mod response;
mod schema;
mod schema_keywords;
mod tool;
mod tool_set;

pub use arguments::ArgumentError;
pub use document::{Document, DocumentError};
pub use operation::Operation;
pub use request::{RequestBody, RestRequest};
pub use tool::Tool;
pub use tool_set::{ToolOptions, ToolSet, ToolSetError};
