//! The files of the page, one row each. The build of the page writes this list.

use super::PageFile;

pub(super) const FILES: &[PageFile] = &[
    PageFile { path: "index.html", bytes: include_bytes!("../../dist/index.html"), gzip: None, brotli: None },
    PageFile {
        path: "assets/page.js",
        bytes: include_bytes!("../../dist/assets/page.js"),
        gzip: None,
        brotli: None,
    },
    PageFile {
        path: "assets/page.css",
        bytes: include_bytes!("../../dist/assets/page.css"),
        gzip: None,
        brotli: None,
    },
];
