//! Proposed settings of an endpoint, as YAML.

use portion_text::display::yaml_scalar;

/// Proposed settings of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// Name of the tool.
    pub tool: String,
    /// True if the tool is to be declared as one that only reads.
    pub read: bool,
    /// Settings of `pushdown`.
    pub pushdown: Vec<(&'static str, String)>,
    /// True if secrets are to be hidden.
    pub redact_secrets: bool,
    /// Fields that summaries keep first.
    pub summary_fields: Vec<String>,
}

impl Proposal {
    /// Returns true if nothing is proposed.
    pub fn is_empty(&self) -> bool {
        !self.read && self.pushdown.is_empty() && !self.redact_secrets && self.summary_fields.is_empty()
    }

    /// Returns the lines of the endpoint below `endpoints`, indented by `indent` spaces.
    pub fn to_yaml(&self, indent: usize) -> Vec<String> {
        let (outer, inner, third) = (" ".repeat(indent), " ".repeat(indent + 2), " ".repeat(indent + 4));
        let mut lines = vec![format!("{outer}{}:", yaml_scalar(&self.tool))];
        if self.read {
            lines.push(format!("{inner}read: true"));
        }
        if !self.pushdown.is_empty() {
            lines.push(format!("{inner}pushdown:"));
            let settings = self.pushdown.iter();
            lines.extend(settings.map(|(key, text)| {
                let is_number = matches!(*key, "pageSize" | "pageStart");
                format!("{third}{key}: {}", if is_number { text.clone() } else { yaml_scalar(text) })
            }));
        }
        if self.redact_secrets {
            lines.push(format!("{inner}redact: secrets"));
        }
        if !self.summary_fields.is_empty() {
            let names: Vec<String> = self.summary_fields.iter().map(|name| yaml_scalar(name)).collect();
            lines.push(format!("{inner}summaryFields: [{}]", names.join(", ")));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::Proposal;

    #[test]
    fn an_endpoint_is_written_as_yaml() {
        let proposal = Proposal {
            tool: "GET /bookings/{id}".into(),
            read: true,
            pushdown: vec![("preset", "page".into()), ("pageSize", "100".into()), ("page", "no".into())],
            redact_secrets: true,
            summary_fields: vec!["id".into(), "price.total".into(), "a b".into()],
        };
        let expect = "  \"GET /bookings/{id}\":\n    read: true\n    pushdown:\n      preset: page\n      pageSize: 100\n      \
                      page: \"no\"\n    redact: secrets\n    summaryFields: [id, price.total, \"a b\"]";
        assert_eq!(proposal.to_yaml(2).join("\n"), expect);
    }
}
