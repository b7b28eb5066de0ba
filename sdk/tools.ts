/** Output folder and npm tools of the SDK and Postman builds. */

export const HERE = import.meta.dirname!;

/** The default output folder; another can be given on the command line. */
export const DIST = `${HERE}/dist`;

// Not imported statically, so that starting the service does not download them.
export const GENERATOR = "npm:@hey-api/openapi-ts@0.99.0";
export const LANGUAGE_GENERATOR = "npm:@openapitools/openapi-generator-cli@1.0.18-4.3.1";
export const TYPESCRIPT = "npm:typescript@6.0.3";
export const CONVERTER = "npm:openapi-to-postmanv2@6.3.3";
