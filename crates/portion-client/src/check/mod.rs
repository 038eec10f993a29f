//! Reads the tools of a server and their results, and proposes settings of Portion for them.
//!
//! Everything here is pure: the caller lists and calls the tools. [`Tool::parse`] reads a tool, [`CallPlan`] finds
//! arguments that need no person, [`PagingCheck`] says which further calls show how a tool pages, [`analyze`] collects
//! the findings, and [`mod@write`] adds the proposals to a configuration file.
//!
//! ```
//! use portion_client::check::{Observation, Tool, analyze};
//! use serde_json::json;
//!
//! let tool = Tool::parse(&json!({"name": "list_logs", "annotations": {"readOnlyHint": true}})).expect("a tool");
//! let result = json!({"content": [{"type": "text", "text": "[{\"id\":1,\"apiKey\":\"k"}]});
//! let finding = analyze(&tool, &Observation::from_result(&result), None);
//! assert!(finding.truncation.is_some());
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `tool` | a listed tool, and if it only reads; values of required arguments from schemas and earlier results |
//! | `observation` | the result of a call with its list; totals and next pages beside it |
//! | `paging` | a check of how a tool pages its results, step by step: names of arguments, then calls that test them |
//! | `analysis` | all findings of a tool, and tokens with and without Portion; results that the server has cut |
//! | `write` | settings of an endpoint as YAML; adds them to the text of a file |

mod analysis;
mod observation;
mod paging;
mod tool;
pub mod write;

pub use analysis::Truncation;
pub use analysis::{Estimate, Finding, analyze};
pub use observation::Observation;
pub use observation::{Next, PageFacts};
pub use paging::{Evidence, Paging, PagingCheck, Step};
pub use tool::{CallPlan, ReadEvidence, Tool};
pub use tool::{KnownPaths, KnownValues, fill_arguments};
pub use write::Proposal;
