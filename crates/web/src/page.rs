//! The page, which is part of the binary: its files with their types and tags.
//!
//! `index.html` is the one file that is changed on its way: `{{nonce}}` becomes the nonce of the response's styles and
//! `{{base}}` the path below which the server is reached. All other files are served as they are, compressed where the
//! build has put a compressed copy beside them.

mod files;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use sha2::Digest as _;

use crate::api::service;
use crate::compression::accepts;
use crate::gateway::{Gateway, Shared};
use crate::request_check::Nonce;
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
        index_file(&gateway, &nonce)
    }
    get(handle)
}

fn index_file(gateway: &Gateway, nonce: &Nonce) -> Response {
    let Some(file) = FILES.iter().find(|file| file.path == "index.html") else {
        return (StatusCode::NOT_FOUND, "this build has no page").into_response();
    };
    let text = String::from_utf8_lossy(file.bytes);
    let text = text.replace("{{nonce}}", &nonce.0).replace("{{base}}", &gateway.base);
    // Browsers keep a page that may be stored for the way back, and it has no secret.
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "private, no-cache")];
    (headers, text).into_response()
}

/// Answers for a path at which nothing is: a person who has mistyped an address gets the page, which says so, and a program
/// gets an error.
pub(crate) async fn unknown(
    State(gateway): State<Shared>,
    Extension(nonce): Extension<Nonce>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let is_for_programs = ["/api/", "/ws/", "/assets/"].iter().any(|part| uri.path().contains(part));
    if is_for_programs || !accepts_page(&headers) {
        return service::nothing_there().await;
    }
    let mut response = index_file(&gateway, &nonce);
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn accepts_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|kinds| kinds.contains("text/html"))
}

pub(crate) fn asset() -> MethodRouter<Shared> {
    async fn handle(Path(file): Path<String>, headers: HeaderMap) -> Response {
        serve(&format!("assets/{file}"), &headers)
    }
    get(handle)
}

pub(crate) fn root_file() -> MethodRouter<Shared> {
    async fn handle(
        state: State<Shared>,
        nonce: Extension<Nonce>,
        Path(file): Path<String>,
        uri: Uri,
        headers: HeaderMap,
    ) -> Response {
        match FILES.iter().any(|known| known.path == file) {
            true => serve(&file, &headers),
            false => unknown(state, nonce, uri, headers).await,
        }
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
    match (file.brotli, file.gzip) {
        (Some(bytes), _) if accepts(headers, "br") => (Some("br"), bytes),
        (_, Some(bytes)) if accepts(headers, "gzip") => (Some("gzip"), bytes),
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path as FilePath, PathBuf};

    use super::*;

    fn root() -> PathBuf {
        FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../web")
    }

    /// Returns the files below a directory, or the file itself, sorted, relative to `root`.
    fn files(root: &FilePath, path: &FilePath) -> Vec<PathBuf> {
        let full = root.join(path);
        if !full.is_dir() {
            return vec![path.to_owned()];
        }
        let mut names: Vec<_> = fs::read_dir(full).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names.iter().flat_map(|name| files(root, &path.join(name))).collect()
    }

    #[test]
    fn w23_a_browser_loads_little() {
        let size = |is_part: fn(&str) -> bool| {
            let parts = FILES.iter().filter(|file| is_part(file.path));
            parts.map(|file| file.gzip.unwrap_or(file.bytes).len()).sum::<usize>()
        };
        let first = size(|path| path == "index.html" || path.starts_with("assets/index-"));
        let terminal = size(|path| path.starts_with("assets/terminal-") || path.starts_with("assets/xterm-"));
        let font = size(|path| path.ends_with(".woff2"));
        let all = size(|path| path == "index.html" || path.starts_with("assets/") || path == "sw.js");
        assert!((1..=40_000).contains(&first), "{first}");
        assert!((1..=125_000).contains(&terminal), "{terminal}");
        assert!((1..=60_000).contains(&font), "{font}");
        assert!(all <= 230_000, "{all}");
    }

    #[test]
    fn w30_no_build_script_and_no_download_stands_between_the_sources_and_the_binary() {
        let own = FilePath::new(env!("CARGO_MANIFEST_DIR"));
        let manifest = fs::read_to_string(own.join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("build =") && !own.join("build.rs").exists(), "{manifest}");
        for entry in fs::read_dir(own.join("..")).unwrap() {
            let script = entry.unwrap().path().join("build.rs");
            let text = fs::read_to_string(&script).unwrap_or_default();
            let is_clean = ["npm", "node", "http:", "https:", "web/"].iter().all(|word| !text.contains(word));
            assert!(is_clean, "{}", script.display());
        }
        let included = include_str!("page/files.rs").matches("include_bytes!(").count();
        let forms =
            |file: &PageFile| 1 + usize::from(file.gzip.is_some()) + usize::from(file.brotli.is_some());
        assert_eq!(included, FILES.iter().map(forms).sum::<usize>());
    }

    #[test]
    fn w30_the_committed_files_are_in_the_binary_and_were_built_from_these_sources() {
        let dist = root().join("dist");
        let listed = files(&dist, FilePath::new(""));
        let is_form = |path: &FilePath| path.extension().is_some_and(|end| end == "gz" || end == "br");
        let plain: Vec<_> =
            listed.iter().filter(|path| !is_form(path) && *path != FilePath::new("SOURCE")).collect();
        assert_eq!(plain.len(), FILES.len());
        for path in plain {
            let file = FILES.iter().find(|file| FilePath::new(file.path) == path).unwrap();
            assert_eq!(fs::read(dist.join(path)).unwrap(), file.bytes, "{}", file.path);
        }
        let mut hash = sha2::Sha256::new();
        let page = root().join("page");
        let sources = [
            "build",
            "index.html",
            "package.json",
            "package-lock.json",
            "public",
            "src",
            "tsconfig.json",
            "vite.config.mjs",
        ];
        for path in sources.iter().flat_map(|name| files(&page, FilePath::new(name))) {
            let bytes = fs::read(page.join(&path)).unwrap();
            hash.update(format!("{}\0{}\0", path.display(), bytes.len()));
            hash.update(bytes);
        }
        let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let known = fs::read_to_string(dist.join("SOURCE")).unwrap();
        assert_eq!(
            known.lines().next(),
            Some(hex.as_str()),
            "run `cargo xtask page` and commit what it changes"
        );
    }
}
