//! Reads the tools of a server and their results, and proposes settings of Portion for them.
//!
//! Everything here is pure: the caller lists and calls the tools. [`Tool::parse`] reads a tool, [`CallPlan`] finds
//! arguments that need no person, [`PagingCheck`] says which further calls show how a tool pages, [`analyze`] collects
//! the findings, and [`mod@write`] adds the proposals to a configuration file.
//!
//! ```
//! use portion_check::{Observation, Tool, analyze};
//! use serde_json::json;
//!
//! let tool = Tool::parse(&json!({"name": "list_logs", "annotations": {"readOnlyHint": true}})).expect("a tool");
//! let result = json!({"content": [{"type": "text", "text": "[{\"id\":1,\"apiKey\":\"k"}]});
//! let finding = analyze(&tool, &Observation::from_result(&result), None);
//! assert!(finding.truncation.is_some());
//! ```

mod analysis;
mod arguments;
mod call_plan;
mod estimate;
mod observation;
mod page_facts;
mod paging;
mod proposal;
mod tool;
mod truncation;
pub mod write;

pub use analysis::{Finding, analyze};
pub use arguments::{KnownValues, fill_arguments};
pub use call_plan::CallPlan;
pub use estimate::Estimate;
pub use observation::Observation;
pub use page_facts::{Next, PageFacts};
pub use paging::{Evidence, Paging, PagingCheck, Step};
pub use proposal::Proposal;
pub use tool::{ReadEvidence, Tool};
pub use truncation::Truncation;
