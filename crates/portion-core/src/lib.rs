//! The pure core of Portion: captures an upstream's result once and renders it many times, each time
//! under a token budget.
//!
//! [`snapshot::capture`] takes ownership of a [`payload::Payload`]; [`view::resolve`] checks a request
//! against the snapshot; [`render::first_reply`] and [`render::follow_up_reply`] make the reply. Nothing
//! here does IO, reads a clock, draws randomness, reads the environment, recurses on the depth of its
//! input, or fails: malformed input becomes a plainer reply.
//!
//! ```
//! use portion_core::payload::{Block, Content, Payload};
//! use portion_core::policy::Policy;
//! use portion_core::render::{Context, FirstReply, first_reply};
//! use portion_core::snapshot::capture;
//! use portion_core::view::{Request, resolve};
//! use portion_tokens::Tokenizer;
//!
//! let items: Vec<String> = (0..2_000).map(|id| format!(r#"{{"id":{id},"name":"Guest {id}"}}"#)).collect();
//! let list = Block::new("/content/0/text", Content::Text(format!("[{}]", items.join(","))));
//! let snapshot = capture(Payload { blocks: vec![list], ..Payload::default() });
//! let policy = Policy::default();
//! let view = resolve(&snapshot, None, &Request { limit: Some(2), ..Request::default() }, &policy)?;
//! let cx = Context {
//!     policy: &policy,
//!     counter: Tokenizer::O200k.counter(),
//!     issue_cursor: &|_| None,
//!     read_call: "portion_read".into(),
//!     query_tool: None,
//!     read_uri: None,
//! };
//! let FirstReply::Portion(page) = first_reply(&snapshot, &view, &cx) else { panic!("a list is paged") };
//! assert_eq!((page.served_count(), page.total_count()), (Some(2), Some(2_000)));
//! # Ok::<(), portion_core::view::ViewError>(())
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `payload` | an upstream result before capture, in parts |
//! | `path` | paths into a payload, with its lists |
//! | `error_code` | the codes of errors: name, HTTP status, JSON-RPC code, cause and advice for the documentation |
//! | `base64_text` | the text in the base64 of a blob |
//! | `codec` | writes and reads the bytes of these encodings; any bytes decode to a value or an error |
//! | `snapshot` | the payload with its index. `list_detection` and `indexed_text` find the list, `table_layouts` tables that are no list of objects, `profile` ranks the fields of a list, `embedded_json` finds JSON in text, `duplicates` finds `structuredContent` that repeats the text, `redacted` hides values in its parts, `upstream_page` reads the upstream's own paging. `encoding` writes and reads snapshots as bytes for stores outside the process. `partial` has snapshots with missing blocks: reading a `Slice` notes in its `Gaps` which of them are needed |
//! | `paging` | arguments by which tools page their results, with their values in a call |
//! | `view` | `Request`: validated without the payload. `resolve` checks it against a snapshot and returns a `View`. `order` sorts, `section` finds named sections, `media` selects images and audio, `encoding` writes and reads views as bytes |
//! | `ranking` | scores of records, the selection of those that are shown, and in `rank` the order of a reply |
//! | `noise`, `elide` | fields that views leave out; long strings, shortened |
//! | `named_choices` | names of the values of enums, in configurations and records |
//! | `missing_codes` | numbers that stand for missing values |
//! | `render` | the only builder of `Portion`. `reply` renders a reply within its limits (`budget`): `candidate` renders both forms with their notice, `cost_estimate` computes what they cost; a reply that is too large is rendered again, smaller by the excess. `walk` visits the parts; `walk/value` renders one of them by its structure, as a `page` in its `list_wrapper`, a `summary`, a `chunk`, or whole; `rendering` is the result of each. `pass_through` decides what stays whole; `notice` writes totals, omissions and the next call, and selects what of it the text holds; `query_tables` names what a query can read; `description` adds facts of the whole; `page/costs` counts the fields of the records of a page once, `page/plan` chooses by these costs what the page shows (the plan as others see it is in `portion`), `page/write` and `page/table` write it, `page/field_order` says which fields come first, `page/examples` chooses further records for a sample; `structured` writes `structuredContent`; `envelope` wraps portion and notice |
//! | `describe` | facts of a whole list, object or text for first replies: exact, or marked `≈` |
//! | `find` | search in a snapshot: literal text, regular expressions, words by BM25 |
//! | `cursor` | signed positions of 21 to 45 letters, verified before any lookup, and charged a token count that does not depend on their random letters. `body` is what they encode, and how it is written |
//! | `policy` | limits and options of an endpoint, validated once. `limits` is the table of all limits; `LimitOverrides::resolve` fills in what was not configured |
//! | `event` | events for observers: sizes, names and codes, never content; the `traceparent` header |

mod base64_text;
mod codec;
pub mod cursor;
pub mod describe;
mod elide;
pub mod error_code;
pub mod event;
pub mod find;
pub mod missing_codes;
mod named_choices;
mod noise;
pub mod page_names;
pub mod paging;
pub mod path;
pub mod payload;
pub mod policy;
pub mod ranking;
pub mod render;
pub mod snapshot;
pub mod view;

pub use codec::DecodeError;
pub use portion_redact as redact;
