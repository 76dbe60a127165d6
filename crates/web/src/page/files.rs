//! The files of the page, one row each. The build of the page writes this list.

use super::PageFile;

#[rustfmt::skip]
pub(super) const FILES: &[PageFile] = &[
    PageFile {
        path: "assets/index-BFI1DZXn.css",
        bytes: include_bytes!("../../../../web/dist/assets/index-BFI1DZXn.css"),
        gzip: Some(include_bytes!("../../../../web/dist/assets/index-BFI1DZXn.css.gz")),
        brotli: Some(include_bytes!("../../../../web/dist/assets/index-BFI1DZXn.css.br")),
    },
    PageFile {
        path: "assets/index-D9O-BRaW.js",
        bytes: include_bytes!("../../../../web/dist/assets/index-D9O-BRaW.js"),
        gzip: Some(include_bytes!("../../../../web/dist/assets/index-D9O-BRaW.js.gz")),
        brotli: Some(include_bytes!("../../../../web/dist/assets/index-D9O-BRaW.js.br")),
    },
    PageFile {
        path: "assets/lazy-B8LT6t-j.js",
        bytes: include_bytes!("../../../../web/dist/assets/lazy-B8LT6t-j.js"),
        gzip: Some(include_bytes!("../../../../web/dist/assets/lazy-B8LT6t-j.js.gz")),
        brotli: Some(include_bytes!("../../../../web/dist/assets/lazy-B8LT6t-j.js.br")),
    },
    PageFile {
        path: "assets/mono-D_ob1v_H.woff2",
        bytes: include_bytes!("../../../../web/dist/assets/mono-D_ob1v_H.woff2"),
        gzip: None,
        brotli: None,
    },
    PageFile {
        path: "assets/terminal-BIo_c0zm.js",
        bytes: include_bytes!("../../../../web/dist/assets/terminal-BIo_c0zm.js"),
        gzip: Some(include_bytes!("../../../../web/dist/assets/terminal-BIo_c0zm.js.gz")),
        brotli: Some(include_bytes!("../../../../web/dist/assets/terminal-BIo_c0zm.js.br")),
    },
    PageFile {
        path: "assets/xterm-B1njb2Cr.css",
        bytes: include_bytes!("../../../../web/dist/assets/xterm-B1njb2Cr.css"),
        gzip: Some(include_bytes!("../../../../web/dist/assets/xterm-B1njb2Cr.css.gz")),
        brotli: Some(include_bytes!("../../../../web/dist/assets/xterm-B1njb2Cr.css.br")),
    },
    PageFile {
        path: "assets/xterm-B4nyry4X.js",
        bytes: include_bytes!("../../../../web/dist/assets/xterm-B4nyry4X.js"),
        gzip: Some(include_bytes!("../../../../web/dist/assets/xterm-B4nyry4X.js.gz")),
        brotli: Some(include_bytes!("../../../../web/dist/assets/xterm-B4nyry4X.js.br")),
    },
    PageFile {
        path: "icon-192.png",
        bytes: include_bytes!("../../../../web/dist/icon-192.png"),
        gzip: None,
        brotli: None,
    },
    PageFile {
        path: "icon-512.png",
        bytes: include_bytes!("../../../../web/dist/icon-512.png"),
        gzip: None,
        brotli: None,
    },
    PageFile {
        path: "icon.svg",
        bytes: include_bytes!("../../../../web/dist/icon.svg"),
        gzip: None,
        brotli: None,
    },
    PageFile {
        path: "index.html",
        bytes: include_bytes!("../../../../web/dist/index.html"),
        gzip: None,
        brotli: None,
    },
    PageFile {
        path: "licenses.txt",
        bytes: include_bytes!("../../../../web/dist/licenses.txt"),
        gzip: Some(include_bytes!("../../../../web/dist/licenses.txt.gz")),
        brotli: Some(include_bytes!("../../../../web/dist/licenses.txt.br")),
    },
    PageFile {
        path: "manifest.webmanifest",
        bytes: include_bytes!("../../../../web/dist/manifest.webmanifest"),
        gzip: Some(include_bytes!("../../../../web/dist/manifest.webmanifest.gz")),
        brotli: Some(include_bytes!("../../../../web/dist/manifest.webmanifest.br")),
    },
    PageFile {
        path: "sw.js",
        bytes: include_bytes!("../../../../web/dist/sw.js"),
        gzip: Some(include_bytes!("../../../../web/dist/sw.js.gz")),
        brotli: Some(include_bytes!("../../../../web/dist/sw.js.br")),
    },
];
