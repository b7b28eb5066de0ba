/** Reports the result of 3-D Secure to the merchant's page, or returns to the merchant. */

const result = document.getElementById("three-ds-result");
const message = JSON.parse(result.dataset.message);
// The sandbox does not know the origin of the merchant's page, so it allows every origin.
if (globalThis.parent !== globalThis) globalThis.parent.postMessage(message, "*");
document.getElementById("return-form")?.submit();
