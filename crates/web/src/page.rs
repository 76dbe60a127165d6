//! The page, which is part of the binary: its files with their types and tags.
//!
//! `index.html` is the one file that is changed on its way: `{{nonce}}` becomes the nonce of the response's styles and
//! `{{base}}` the path below which the server is reached. All other files are served as they are, compressed where the
//! build has put a compressed copy beside them.

mod files;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use sha2::Digest as _;

use crate::gate::Nonce;
use crate::gateway::Shared;
use files::FILES;

/// One file of the page.
pub(crate) struct PageFile {
    /// Its path below the page's directory.
    pub(crate) path: &'static str,
    /// Its bytes.
    pub(crate) bytes: &'static [u8],
    /// The same, compressed with gzip.
    pub(crate) gzip: Option<&'static [u8]>,
    /// The same, compressed with brotli.
    pub(crate) brotli: Option<&'static [u8]>,
}

/// Files with a hash of their content in their name never change.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

pub(crate) fn index() -> MethodRouter<Shared> {
    async fn handle(State(gateway): State<Shared>, Extension(nonce): Extension<Nonce>) -> Response {
        let Some(file) = FILES.iter().find(|file| file.path == "index.html") else {
            return (StatusCode::NOT_FOUND, "this build has no page").into_response();
        };
        let text = String::from_utf8_lossy(file.bytes);
        let text = text.replace("{{nonce}}", &nonce.0).replace("{{base}}", &gateway.base);
        ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
    }
    get(handle)
}

pub(crate) fn asset() -> MethodRouter<Shared> {
    async fn handle(Path(file): Path<String>, headers: HeaderMap) -> Response {
        serve(&format!("assets/{file}"), &headers)
    }
    get(handle)
}

pub(crate) fn root_file() -> MethodRouter<Shared> {
    async fn handle(Path(file): Path<String>, headers: HeaderMap) -> Response {
        serve(&file, &headers)
    }
    get(handle)
}

fn serve(path: &str, headers: &HeaderMap) -> Response {
    let Some(file) = FILES.iter().find(|file| file.path == path && path != "index.html") else {
        return (StatusCode::NOT_FOUND, "no such file").into_response();
    };
    let tag = tag_of(file);
    let caching = if path.starts_with("assets/") { FOR_EVER } else { "no-cache" };
    let common = [
        (header::CONTENT_TYPE, type_of(path)),
        (header::CACHE_CONTROL, caching),
        (header::ETAG, tag.as_str()),
        (header::VARY, "Accept-Encoding"),
    ];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    let (encoding, bytes) = encoded(file, headers);
    let mut response = (common, bytes).into_response();
    if let Some(encoding) = encoding {
        let name: HeaderName = header::CONTENT_ENCODING;
        response.headers_mut().insert(name, axum::http::HeaderValue::from_static(encoding));
    }
    response
}

/// Returns the smallest form of a file that the browser understands.
fn encoded(file: &PageFile, headers: &HeaderMap) -> (Option<&'static str>, &'static [u8]) {
    let accepted =
        headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accepts = |name: &str| accepted.split(',').any(|one| one.trim().split(';').next() == Some(name));
    match (file.brotli, file.gzip) {
        (Some(bytes), _) if accepts("br") => (Some("br"), bytes),
        (_, Some(bytes)) if accepts("gzip") => (Some("gzip"), bytes),
        _ => (None, file.bytes),
    }
}

fn tag_of(file: &PageFile) -> String {
    let digest = sha2::Sha256::digest(file.bytes);
    let short: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{short}\"")
}

fn type_of(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("webmanifest") => "application/manifest+json",
        Some("json") => "application/json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
