//! The gateway: captures what an upstream says, answers calls, and stores what was left out.
//!
//! [`gateway`] makes every reply with content. `portion-core` decides what a reply looks like; this crate does not.
//! Protocols and transports are in crates of their own, which pass it calls.
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `gateway`, `gateway_parts` | `Gateway::answer` and `CursorCall`, the two entry points, with a file each for fresh payloads, follow-ups, queries, cursors and the end of a reply; what a gateway is made of |
//! | `call`, `fault` | calls, callers, replies and keys of equal calls; errors that programs and models can use |
//! | `issued_cursors`, `served_pages` | cursors issued lately, to name a mistyped one; what replies to pages of tools showed, for the next page by number |
//! | `rules` → `effective_policy` | the rule of each endpoint, computed once from a `PolicySource` and cached; limits, counter and redaction for one client |
//! | `rules/shaping_mode`, `gateway/pass_through` | decides if the replies of a session are shaped; relays unshaped replies and records what shaping would have made of them |
//! | `session`, `query_limiter` | a client session and the tokens that it was served; concurrent queries and their cancellation |
//! | `renderer`, `offload` | capture and render with fallbacks for panics and bad counts; long computations off the event loop |
//! | `overload` | how late work is because the processors are busy: of the runtime, and of long computations |
//! | `snapshot_query` | queries on stored snapshots; a query of a first call is stored as a plain call, then answered like these (`gateway/fresh`) |
//! | `paged_call` | a call of a tool that pages its results, with its arguments: the larger page that the gateway asks for, then the caller's own (`first_page`); and `PageSource`, the interface by which the protocol calls the tool again |
//! | `pushdown` | lists that an upstream pages by itself. `list_page` reads a page, `carrier` finds it in a result, `paged_list` joins pages, `next_page` decides on the next request: these are pure. `fetches` runs `fetch`es in the background and replaces their snapshots as they grow, `rate_limit` is their budget of requests, `sharing` has one instance at a time fetch a list in a shared store |
//! | `store` | snapshots between a reply and its follow-ups. `cached` is what the gateway uses: `memory`, an LRU cache of decoded snapshots with a byte budget per scope, and behind it a `SnapshotStore`, which stores fields of bytes. `disk` implements it in an SQLite database, in a file or a temporary one: `database` opens it, and empties it if it is damaged, `tables` reads and changes it, `eviction` makes room for each scope's share, `availability` records failures, `directory` has the key of the cursors. `redis` (a feature) implements it in a server that instances share. `record` turns snapshots into compressed fields; `load` reads them, whole or as much as a page needs, and waits for what another instance is still writing; `write_behind` writes them after the reply was sent, and lets replies wait for a moment while it is behind; `growing` has one instance at a time replace a list that grows. `temporary` writes to a temporary file only what the memory may have no room for |
//! | `accounting`, `decision_log`, `dropped_messages` | logs and events about each reply; counts of messages that were not relayed |
//! | `accuracy`, `deferred_worker` | recounts replies after they were sent and reacts to bad counts (`tracker`), on a thread of its own |

mod accounting;
pub mod accuracy;
pub mod call;
mod decision_log;
mod deferred_worker;
pub mod dropped_messages;
pub mod effective_policy;
pub mod fault;
pub mod gateway;
pub mod gateway_parts;
mod issued_cursors;
mod kept_results;
mod offload;
pub mod overload;
pub mod paged_call;
pub mod principal;
mod pushdown;
pub mod query_limiter;
mod renderer;
pub mod rules;
pub mod served_pages;
pub mod session;
mod snapshot_query;
pub mod store;
