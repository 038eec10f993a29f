//! How the tools of an upstream are listed: what the operator chooses, once for all of it.

use std::fmt;
use std::str::FromStr;

use portion_core::glob::matches;

use super::tool::UpstreamTool;

/// The name under which our reading tool is listed, unless it is renamed.
pub const READ_TOOL: &str = "portion_read";
/// The name under which our querying tool is listed, unless it is renamed.
pub const QUERY_TOOL: &str = "portion_query";
/// The name under which the tool that describes others is listed, unless it is renamed.
pub const DESCRIBE_TOOL: &str = "portion_describe";

/// How the tools of an upstream are listed.
#[derive(Clone, Debug)]
pub struct ListingOptions {
    /// How much is said of each of them.
    pub style: ListingStyle,
    /// The name that our reading tool shall have.
    pub read_tool: String,
    /// The name that our querying tool shall have; `None` where it shall not be listed.
    pub query_tool: Option<String>,
    /// The name that the tool which describes others shall have. Only [`ListingStyle::Lazy`] needs it.
    pub describe_tool: String,
    /// Which tools get our controls.
    pub advertise: AdvertisePolicy,
}

/// Which tools of an upstream are listed with our controls among their own arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AdvertisePolicy {
    /// Those that answer with lists.
    #[default]
    Lists,
    /// All whose schemas can be added to.
    All,
    /// None.
    None,
    /// Those of these names; `*` stands for any characters.
    Named(Vec<String>),
}

impl AdvertisePolicy {
    pub(super) fn includes(&self, tool: &UpstreamTool) -> bool {
        match self {
            Self::Lists => tool.is_list_like,
            Self::All => true,
            Self::None => false,
            Self::Named(patterns) => patterns.iter().any(|pattern| matches(pattern, &tool.name)),
        }
    }
}

/// How much a list of tools says of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListingStyle {
    /// All that the upstream says.
    #[default]
    Full,
    /// The first sentence of each description, and schemas without what validates nothing.
    Trim,
    /// A name and one line. The rest is had by asking for it.
    Lazy,
}

/// A name that is no style's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown style `{name}`: use {}", ListingStyle::ALL.map(ListingStyle::name).join(", "))]
pub struct UnknownListingStyle {
    /// What was given.
    pub name: String,
}

impl Default for ListingOptions {
    fn default() -> Self {
        Self {
            style: ListingStyle::default(),
            read_tool: READ_TOOL.into(),
            query_tool: Some(QUERY_TOOL.into()),
            describe_tool: DESCRIBE_TOOL.into(),
            advertise: AdvertisePolicy::default(),
        }
    }
}

impl ListingStyle {
    /// Every style, the default one first.
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
    fn names_are_read_as_they_are_written() {
        for style in ListingStyle::ALL {
            assert_eq!(style.to_string().parse(), Ok(style));
        }
        let error = "short".parse::<ListingStyle>().expect_err("no style");
        assert_eq!(error.to_string(), "unknown style `short`: use full, trim, lazy");
    }
}
