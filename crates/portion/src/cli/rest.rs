//! A REST API in front of which Portion serves MCP: its options, and the tools of its `OpenAPI` document.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use clap::Args;
use portion_config::named_file::read_named_text;
use portion_config::reference::{ProcessEnvironment, expand};
use portion_config::{OAuthConfig, RestConfig};
use portion_policy::upstream::UpstreamTarget;
use portion_rest::link::{ClientCredentials, RestConnector, RestOptions};
use portion_rest::openapi::{Document, Tool, ToolOptions, ToolSet, percent};

use crate::cli::failure::{Result, UsageError};

const HEADING: &str = "REST API";
/// Arguments that name another server. `requires` alone is not checked where the required one conflicts with these.
pub(crate) const OTHER_SERVERS: [&str; 2] = ["command", "server_url"];
const OPENAPI_HELP: &str = "OpenAPI document of a REST API, JSON or YAML: its operations become tools";

/// Number of tools above which the list is shortened, unless its style is configured.
const MAX_FULL_TOOLS: usize = 60;
/// Faults of a document that are logged.
const MAX_LOGGED_FAULTS: usize = 5;
/// Largest document, in bytes.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 256 << 20;

/// A REST API on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct RestArgs {
    #[arg(long, value_name = "FILE", conflicts_with_all = OTHER_SERVERS, help = OPENAPI_HELP, help_heading = HEADING)]
    openapi: Option<PathBuf>,
    /// Operations that become tools: tool names, paths or `METHOD /path`, * for any characters; may be repeated
    #[arg(long, value_name = "PATTERN", requires = "openapi", conflicts_with_all = OTHER_SERVERS, help_heading = HEADING)]
    include: Vec<String>,
    /// Operations that become no tools; may be repeated
    #[arg(long, value_name = "PATTERN", requires = "openapi", conflicts_with_all = OTHER_SERVERS, help_heading = HEADING)]
    exclude: Vec<String>,
    /// Tools that only read, although their method is not GET; may be repeated
    #[arg(long, value_name = "PATTERN", requires = "openapi", conflicts_with_all = OTHER_SERVERS, help_heading = HEADING)]
    read: Vec<String>,
    /// Query parameter of each request to the API, `name=value`, with ${NAME}; may be repeated
    #[arg(id = "query_parameter", long = "query-parameter", value_name = "PARAMETER", requires = "openapi", conflicts_with_all = OTHER_SERVERS, help_heading = HEADING)]
    query: Vec<String>,
    /// Basic authentication at the API, with ${NAME}
    #[arg(long, value_name = "USER:PASSWORD", requires = "openapi", conflicts_with_all = OTHER_SERVERS, help_heading = HEADING)]
    basic_auth: Option<String>,
    /// Token endpoint of OAuth 2.0, for access tokens by client credentials
    #[arg(long, value_name = "URL", requires_all = ["openapi", "oauth_client_id", "oauth_client_secret"], conflicts_with_all = OTHER_SERVERS, help_heading = HEADING)]
    oauth_url: Option<String>,
    /// Client id, with ${NAME}
    #[arg(long, value_name = "ID", requires = "oauth_url", conflicts_with_all = OTHER_SERVERS, help_heading = HEADING)]
    oauth_client_id: Option<String>,
    /// Client secret, with ${NAME}
    #[arg(long, value_name = "SECRET", requires = "oauth_url", conflicts_with_all = OTHER_SERVERS, help_heading = HEADING)]
    oauth_client_secret: Option<String>,
    /// Scope of access tokens
    #[arg(long, value_name = "SCOPE", requires = "oauth_url", conflicts_with_all = OTHER_SERVERS, help_heading = HEADING)]
    oauth_scope: Option<String>,
    /// Longest duration of a call, with its retries (default: 60s)
    #[arg(long, value_name = "TIME", requires = "openapi", conflicts_with_all = OTHER_SERVERS, value_parser = humantime::parse_duration, help_heading = HEADING)]
    call_timeout: Option<Duration>,
}

/// A REST API.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct RestServer {
    config: RestConfig,
    /// Patterns of tools that only read.
    reads: Vec<String>,
    /// True if the path of the document is relative to the configuration file.
    is_configured: bool,
}

/// The tools of an API, ready to be served.
pub(crate) struct RestTools {
    pub(crate) connector: RestConnector,
    /// True if the list of tools is too long to be served in full.
    pub(crate) is_large: bool,
}

impl RestArgs {
    /// Returns the API, if one was given; `url` is its base URL, `headers` those of each request.
    ///
    /// # Errors
    /// Returns an error if a value is invalid, or a reference cannot be resolved.
    pub(crate) fn resolve(
        &self,
        url: Option<&str>,
        headers: Vec<String>,
    ) -> Result<Option<RestServer>, UsageError> {
        let Some(document) = &self.openapi else { return Ok(None) };
        let follow = |option: &str, text: &str| {
            expand(text, &ProcessEnvironment).map_err(|why| UsageError::from(format!("{option} {why}")))
        };
        let query = self.query.iter().map(|pair| {
            let (name, value) = pair.split_once('=').ok_or("--query-parameter: write it as name=value")?;
            Ok((name.to_owned(), follow("--query-parameter", value)?))
        });
        let basic = self.basic_auth.as_deref().map(|pair| {
            let pair = follow("--basic-auth", pair)?;
            let (user, password) = pair.split_once(':').ok_or("--basic-auth: write it as USER:PASSWORD")?;
            Ok::<_, UsageError>((user.to_owned(), password.to_owned()))
        });
        let oauth = match (&self.oauth_url, &self.oauth_client_id, &self.oauth_client_secret) {
            (Some(url), Some(id), Some(secret)) => Some(OAuthConfig {
                url: follow("--oauth-url", url)?,
                client_id: follow("--oauth-client-id", id)?,
                client_secret: follow("--oauth-client-secret", secret)?,
                scope: self.oauth_scope.clone(),
            }),
            _ => None,
        };
        let config = RestConfig {
            document: Some(document.to_string_lossy().into_owned()),
            tools: Vec::new(),
            unresolved: Vec::new(),
            url: url.map(str::to_owned),
            headers,
            query: query.collect::<Result<_, UsageError>>()?,
            basic: basic.transpose()?,
            oauth,
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            timeout: self.call_timeout.unwrap_or(Duration::from_mins(1)),
        };
        Ok(Some(RestServer { config, reads: self.read.clone(), is_configured: false }))
    }

    /// Returns true if a document was given.
    pub(crate) fn is_given(&self) -> bool {
        self.openapi.is_some()
    }
}

impl RestServer {
    /// Returns the API of a configuration.
    pub(crate) fn from_config(config: RestConfig) -> Self {
        Self { config, reads: Vec::new(), is_configured: true }
    }

    /// Returns everything that distinguishes it from other servers of the user.
    pub(crate) fn identity(&self) -> Vec<String> {
        let RestConfig { document, tools, url, headers, query, basic, oauth, .. } = self.config.clone();
        let mut parts = vec!["openapi".to_owned(), document.unwrap_or_default(), url.unwrap_or_default()];
        // A tool with another request gives other results.
        parts.extend(tools.iter().map(|tool| format!("{tool:?}")));
        parts.extend(headers);
        parts.extend(query.into_iter().chain(basic).flat_map(|(name, value)| [name, value]));
        parts.extend(oauth.into_iter().flat_map(|oauth| [oauth.url, oauth.client_id, oauth.client_secret]));
        parts
    }

    /// Replaces the base URL, and adds headers to each request. With credentials of its own, the API needs no others.
    #[must_use]
    pub(crate) fn with_target(mut self, url: Option<&str>, headers: Vec<String>) -> Self {
        let is_authorization = |line: &String| {
            line.split(':').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("authorization"))
        };
        if headers.iter().any(is_authorization) {
            self.config.oauth = None;
            self.config.unresolved.clear();
        }
        self.config.url = url.map(str::to_owned).or(self.config.url);
        self.config.headers.extend(headers);
        self
    }

    /// Reads the document and builds the tools. `config_file` is the configuration file, `is_read` names further tools that
    /// only read.
    ///
    /// # Errors
    /// Returns an error if the document, the URL or a credential is invalid.
    pub(crate) fn connect(
        &self,
        message_limit: usize,
        config_file: Option<&Path>,
        is_read: impl Fn(&str) -> bool,
    ) -> Result<RestTools> {
        if let Some(problem) = self.config.unresolved.first() {
            return Err(UsageError::from(problem.to_string()).into());
        }
        let document = self.config.document.as_deref().map(|file| self.read_document(file, config_file));
        let document = document.transpose()?;
        let target = self.target(document.as_ref())?;
        let options = self.tool_options(&target);
        let mut tools = match (&document, &self.config.document) {
            (Some(document), Some(file)) => operation_tools(document, &options, file)?,
            _ => Vec::new(),
        };
        for description in &self.config.tools {
            tools.retain(|tool| tool.name != description.name);
            tools.push(Tool::from_description(description, &options.reserved_query)?);
        }
        for tool in &mut tools {
            let is_named =
                self.reads.iter().any(|pattern| portion_text::names::matches_pattern(pattern, &tool.name));
            tool.is_read |= is_named || is_read(&tool.name);
        }
        let chosen = tools.len();
        let is_large = chosen > MAX_FULL_TOOLS;
        tracing::info!(tools = chosen, "tools of the REST API");
        let oauth = self.client_credentials(&target)?;
        let connector = RestConnector::new(RestOptions {
            target,
            tools,
            oauth,
            timeout: self.config.timeout,
            max_response_bytes: message_limit,
            title: document.as_ref().and_then(Document::title).unwrap_or("REST API").to_owned(),
            version: document.as_ref().and_then(Document::api_version).unwrap_or("0").to_owned(),
        })?;
        Ok(RestTools { connector, is_large })
    }

    fn read_document(&self, file: &str, config_file: Option<&Path>) -> Result<Document> {
        let folder = config_file.and_then(Path::parent).filter(|_| self.is_configured);
        let path = folder.map_or_else(|| PathBuf::from(file), |folder| folder.join(file));
        let text = read_document(&path).map_err(|error| in_document(file, &error))?;
        Ok(Document::parse(&text).map_err(|error| in_document(file, &error))?)
    }

    fn target(&self, document: Option<&Document>) -> Result<UpstreamTarget> {
        let url = self.config.url.clone().or_else(|| document?.server_url());
        let url = url.ok_or_else(|| {
            UsageError::from("the OpenAPI document names no absolute server URL; give the base URL of the API with --upstream URL, \
             or url in the configuration")
        })?;
        let pairs = self.config.query.iter();
        let pairs =
            pairs.map(|(name, value)| format!("{}={}", percent::encode(name), percent::encode(value)));
        let query = pairs.collect::<Vec<_>>().join("&");
        let between = if url.contains('?') { "&" } else { "?" };
        // The value of a parameter must not show up in the error.
        UpstreamTarget::new(&url)?;
        let url = if query.is_empty() { url } else { format!("{url}{between}{query}") };
        let mut target = UpstreamTarget::new(&url).map_err(|_| "a query parameter is not valid in a URL")?;
        for line in &self.config.headers {
            target = target.with_header(line)?;
        }
        if let Some((user, password)) = &self.config.basic {
            let credential = BASE64_STANDARD.encode(format!("{user}:{password}"));
            target = target.with_header(&format!("Authorization: Basic {credential}"))?;
        }
        Ok(target)
    }

    fn tool_options(&self, target: &UpstreamTarget) -> ToolOptions {
        let query = target.url().query().unwrap_or_default();
        let names =
            query.split('&').filter_map(|pair| pair.split('=').next()).filter(|name| !name.is_empty());
        ToolOptions {
            include: self.config.include.clone(),
            exclude: self.config.exclude.clone(),
            reserved_query: names.map(str::to_owned).collect(),
            reserved_headers: target.headers().keys().map(ToString::to_string).collect(),
        }
    }

    /// Returns the credentials. The URL of the token endpoint may be a path below the base URL.
    fn client_credentials(&self, target: &UpstreamTarget) -> Result<Option<ClientCredentials>> {
        let Some(oauth) = &self.config.oauth else { return Ok(None) };
        let OAuthConfig { mut url, client_id, client_secret, scope } = oauth.clone();
        if url.starts_with('/') {
            let base = target.url().to_string();
            let base = base.split('?').next().unwrap_or_default();
            url = format!("{}{url}", base.trim_end_matches('/'));
        }
        Ok(Some(ClientCredentials { token_url: UpstreamTarget::new(&url)?, client_id, client_secret, scope }))
    }
}

/// Returns the tools of the operations of a document.
fn operation_tools(document: &Document, options: &ToolOptions, file: &str) -> Result<Vec<Tool>, String> {
    let set = ToolSet::build(document, options).map_err(|error| in_document(file, &error))?;
    for pattern in &set.unmatched_patterns {
        tracing::warn!(pattern, "include or exclude matches no operation of the OpenAPI document");
    }
    for fault in set.faults.iter().take(MAX_LOGGED_FAULTS) {
        tracing::warn!(fault, "the OpenAPI document has a fault");
    }
    tracing::info!(
        tools = set.tools.len(),
        operations = set.operations,
        file,
        "tools of the OpenAPI document"
    );
    Ok(set.tools)
}

fn in_document(file: &str, error: &dyn std::fmt::Display) -> String {
    format!("OpenAPI document {file}: {error}")
}

/// Warns that a list of tools is long, and says how to shorten it.
pub(crate) fn advise_on_large_list(is_lazy: bool) {
    let style =
        if is_lazy { "they are listed in one line each (catalog lazy)" } else { "they are listed in full" };
    crate::cli::terminal::print_stderr!(
        "portion: the OpenAPI document gives more than {MAX_FULL_TOOLS} tools; {style}. Choose some with --include \
         or --exclude, or set --catalog"
    );
}

fn read_document(file: &Path) -> Result<String> {
    Ok(read_named_text(file, MAX_DOCUMENT_BYTES)?)
}

#[cfg(test)]
mod tests {
    use portion_policy::tool_description::ToolDescription;

    use super::{RestArgs, RestServer};

    #[test]
    fn a_described_tool_is_part_of_the_identity() {
        let given = RestArgs { openapi: Some("api.json".into()), ..RestArgs::default() };
        let server = given.resolve(None, Vec::new()).expect("valid").expect("an API");
        let identity = |path: &str| {
            let tool =
                ToolDescription { name: "get".into(), path: path.into(), ..ToolDescription::default() };
            let mut config = server.config.clone();
            config.tools.push(tool);
            RestServer::from_config(config).identity()
        };
        assert_ne!(identity("/a"), identity("/b"));
        assert_eq!(identity("/a"), identity("/a"));
    }
}
