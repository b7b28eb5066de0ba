/**
 * What others made and the builds use. By name, not by an import that is read before it runs:
 * nobody who only starts the service downloads them.
 */

export const GENERATOR = "npm:@hey-api/openapi-ts@0.99.0";
export const TYPESCRIPT = "npm:typescript@6.0.3";
export const CONVERTER = "npm:openapi-to-postmanv2@6.3.3";
