#pragma once

namespace tapeform::pages::detail {

// `viewer.js` and `viewer.css`.
extern const char* const viewer_script;
extern const char* const viewer_style;

}  // namespace tapeform::pages::detail
