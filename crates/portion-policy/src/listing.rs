//! Options for the listing of an upstream's tools.
//!
//! ```
//! use portion_policy::listing::{AdvertisePolicy, ListingStyle};
//!
//! assert_eq!("lazy".parse::<ListingStyle>(), Ok(ListingStyle::Lazy));
//! assert_eq!(AdvertisePolicy::default(), AdvertisePolicy::Lists);
//! ```

use std::fmt;
use std::str::FromStr;

/// Default name of the reading tool.
pub const READ_TOOL: &str = "portion_read";
/// Default name of the query tool.
pub const QUERY_TOOL: &str = "portion_query";
/// Default name of the argument by which a tool's first call asks a query.
pub const QUERY_ARGUMENT: &str = "query";
/// Default name of the tool that describes other tools.
pub const DESCRIBE_TOOL: &str = "portion_describe";

/// Options for the listing of an upstream's tools.
#[derive(Clone, Debug)]
pub struct ListingOptions {
    /// Amount of detail per tool.
    pub style: ListingStyle,
    /// Requested name of the reading tool.
    pub read_tool: String,
    /// Requested name of the query tool; `None` if it is not listed.
    pub query_tool: Option<String>,
    /// Name of the argument of the upstream's tools for a query; `None` if they have none.
    pub query_argument: Option<String>,
    /// Requested name of the tool that describes others. Used by [`ListingStyle::Lazy`] only.
    pub describe_tool: String,
    /// Tools that get controls.
    pub advertise: AdvertisePolicy,
    /// Patterns of rules for tools of this server. One that matches no tool is logged.
    pub rule_patterns: Vec<String>,
}

/// Selects the upstream tools that are listed with controls among their arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AdvertisePolicy {
    /// Tools that return lists.
    #[default]
    Lists,
    /// All tools whose schemas can be extended.
    All,
    /// No tools.
    None,
    /// Tools whose names match one of these patterns; `*` matches any characters.
    Named(Vec<String>),
}

/// Amount of detail per listed tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListingStyle {
    /// Everything that the upstream lists.
    #[default]
    Full,
    /// The first sentence of each description, and schemas without annotations.
    Trim,
    /// Name and one line. The rest is available through the describe tool.
    Lazy,
}

/// Error for an unknown style name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown style `{name}`: use {}", ListingStyle::ALL.map(ListingStyle::name).join(", "))]
pub struct UnknownListingStyle {
    /// The given name.
    pub name: String,
}

impl Default for ListingOptions {
    fn default() -> Self {
        Self {
            style: ListingStyle::default(),
            read_tool: READ_TOOL.into(),
            query_tool: Some(QUERY_TOOL.into()),
            query_argument: Some(QUERY_ARGUMENT.into()),
            describe_tool: DESCRIBE_TOOL.into(),
            advertise: AdvertisePolicy::default(),
            rule_patterns: Vec::new(),
        }
    }
}

impl ListingStyle {
    /// All styles, the default first.
    pub const ALL: [Self; 3] = [Self::Full, Self::Trim, Self::Lazy];

    fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Trim => "trim",
            Self::Lazy => "lazy",
        }
    }
}

impl fmt::Display for ListingStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ListingStyle {
    type Err = UnknownListingStyle;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|style| style.name() == name);
        named.ok_or_else(|| UnknownListingStyle { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::ListingStyle;

    #[test]
    fn names_are_parsed_as_displayed() {
        for style in ListingStyle::ALL {
            assert_eq!(style.to_string().parse(), Ok(style));
        }
        let error = "short".parse::<ListingStyle>().expect_err("no style");
        assert_eq!(error.to_string(), "unknown style `short`: use full, trim, lazy");
    }
}
