//! The built-in tools, and their names among the upstream's tools.

use std::sync::Arc;

use portion_policy::listing::{ListingOptions, ListingStyle};

/// A built-in tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum BuiltinTool {
    /// Returns further parts of a shortened result.
    Read,
    /// Answers queries on a shortened result.
    Query,
    /// Describes tools in full.
    Describe,
}

/// Owner of a tool name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ToolOwner {
    Builtin(BuiltinTool),
    Upstream,
    /// Unknown until all upstream tools are listed.
    Unknown,
}

/// Requested and assigned names of the built-in tools.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct BuiltinToolNames {
    requested: Vec<NamedTool>,
    /// Names in use; `None` until all upstream tools are listed.
    pub(super) assigned: Option<Vec<NamedTool>>,
}

type NamedTool = (BuiltinTool, Arc<str>);

impl BuiltinToolNames {
    pub(super) fn new(listing: &ListingOptions) -> Self {
        let mut requested = vec![(BuiltinTool::Read, listing.read_tool.as_str().into())];
        requested.extend(listing.query_tool.as_deref().map(|name| (BuiltinTool::Query, name.into())));
        if listing.style == ListingStyle::Lazy {
            requested.push((BuiltinTool::Describe, listing.describe_tool.as_str().into()));
        }
        Self { requested, assigned: None }
    }

    /// Assigns a name to each built-in tool for which `is_taken` returns false. Without tools of the upstream there is
    /// nothing to describe.
    pub(super) fn assign(
        &mut self,
        is_taken: impl Fn(&str) -> bool,
        has_upstream_tools: bool,
    ) -> &[NamedTool] {
        let mut assigned: Vec<NamedTool> = Vec::new();
        for (tool, requested) in &self.requested {
            if *tool == BuiltinTool::Describe && !has_upstream_tools {
                continue;
            }
            let names =
                std::iter::once(requested.to_string()).chain((2..).map(|n| format!("{requested}_{n}")));
            let is_free =
                |name: &String| !is_taken(name) && assigned.iter().all(|(_, other)| **other != **name);
            let name = names.into_iter().find(is_free).unwrap_or_else(|| requested.to_string());
            assigned.push((*tool, name.into()));
        }
        self.assigned.insert(assigned)
    }

    pub(super) fn clear(&mut self) {
        self.assigned = None;
    }

    /// Returns the name of the reading tool; the requested one until names are assigned.
    pub(in super::super) fn read_tool(&self) -> Arc<str> {
        let (_, name) = &self.assigned.as_ref().unwrap_or(&self.requested)[0];
        Arc::clone(name)
    }

    /// Returns the name of the query tool, if it is listed.
    pub(in super::super) fn query_tool(&self) -> Option<Arc<str>> {
        let named = self.assigned.as_ref().unwrap_or(&self.requested);
        named.iter().find(|(tool, _)| *tool == BuiltinTool::Query).map(|(_, name)| Arc::clone(name))
    }

    pub(in super::super) fn owner(&self, name: &str) -> ToolOwner {
        match &self.assigned {
            Some(assigned) => {
                let ours = assigned.iter().find(|(_, ours)| **ours == *name);
                ours.map_or(ToolOwner::Upstream, |(tool, _)| ToolOwner::Builtin(*tool))
            }
            None if self.requested.iter().any(|(_, requested)| may_be_assigned_for(name, requested)) => {
                ToolOwner::Unknown
            }
            None => ToolOwner::Upstream,
        }
    }
}

/// Returns true if `name` can be assigned in place of `requested`.
fn may_be_assigned_for(name: &str, requested: &str) -> bool {
    name.strip_prefix(requested).is_some_and(|number| {
        let digits = number.strip_prefix('_');
        number.is_empty() || digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::{BuiltinTool, BuiltinToolNames, ListingOptions, ListingStyle, ToolOwner};

    #[test]
    fn tool_names_are_unique() {
        let check = |read: &str, describe: &str, taken: &[&str], expect: [&str; 2]| {
            let style = ListingStyle::Lazy;
            let (read_tool, describe_tool) = (read.into(), describe.into());
            let listing = ListingOptions {
                style,
                read_tool,
                query_tool: None,
                describe_tool,
                ..ListingOptions::default()
            };
            let mut names = BuiltinToolNames::new(&listing);
            assert_eq!([names.owner(read), names.owner(describe)], [ToolOwner::Unknown; 2]);
            let assigned = names.assign(|name| taken.contains(&name), true).to_vec();
            assert_eq!(
                assigned,
                [(BuiltinTool::Read, expect[0].into()), (BuiltinTool::Describe, expect[1].into())]
            );
            assert_eq!(
                expect.map(|name| names.owner(name)),
                [ToolOwner::Builtin(BuiltinTool::Read), ToolOwner::Builtin(BuiltinTool::Describe)]
            );
            assert_eq!(&*names.read_tool(), expect[0]);
        };
        check("read", "describe", &[], ["read", "describe"]);
        check("read", "describe", &["describe", "describe_2"], ["read", "describe_3"]);
        check("same", "same", &[], ["same", "same_2"]);
        check("same", "same", &["same_2"], ["same", "same_3"]);
    }

    #[test]
    fn unlisted_builtin_tools_belong_to_the_upstream() {
        let mut full = BuiltinToolNames::new(&ListingOptions::default());
        assert_eq!(full.owner("portion_describe"), ToolOwner::Upstream);
        assert_eq!(full.owner("portion_read_7"), ToolOwner::Unknown);
        assert_eq!(full.owner("portion_reader"), ToolOwner::Upstream);
        full.assign(|_| false, true);
        assert_eq!(full.owner("portion_read_7"), ToolOwner::Upstream);
        let mut toolless =
            BuiltinToolNames::new(&ListingOptions { style: ListingStyle::Lazy, ..ListingOptions::default() });
        toolless.assign(|_| false, false);
        assert_eq!(toolless.owner("portion_describe"), ToolOwner::Upstream);
    }
}
