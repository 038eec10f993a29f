//! Decisions of the operator as typed data: the configuration of endpoints, presets of clients, options of tool lists,
//! addresses of servers and stores, and who may call, from which pages.
//!
//! `portion-config` produces these values and `portion-gateway` and `portion-mcp` use them, so that none of them needs
//! the configuration, and the configuration needs none of them. Nothing here does IO.
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `endpoint` | tools, resources and prompts; one version of the configuration: limits and options of each; options for the list of tools: its style, the names of the tools that the gateway adds |
//! | `client` | the table of known clients, identified by name; presets |
//! | `pushdown` | how a tool pages its own results: argument names, places in results, presets |
//! | `tool_description` | tools for requests to a REST API that an operator describes, and their paths |
//! | `upstream` | URL, headers and transport of a server over HTTP; the decoding of query strings |
//! | `store_url` | parts of the URL of a store |
//! | `access` | who may call a listener: hashes of tokens, requirements for JSON Web Tokens; hosts and origins of requests, and those that are allowed |

pub mod access;
pub mod client;
pub mod endpoint;
pub mod pushdown;
pub mod store_url;
pub mod tool_description;
pub mod upstream;
