/** Reports the result of 3-D Secure to the merchant's page, or returns to the merchant. */

const result = document.getElementById("three-ds-result");
const message = JSON.parse(result.dataset.message);
// The merchant's page may be any page of the developer, so its origin is not known.
if (globalThis.parent !== globalThis) globalThis.parent.postMessage(message, "*");
document.getElementById("return-form")?.submit();
