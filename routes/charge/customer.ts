/** `customer_details`: who pays. */

import { email, object, text } from "../../core/input_fields.ts";

export const AddressSchema = object({
  first_name: text(255).optional().openapi({ description: "Who lives there.", example: "Budi" }),
  last_name: text(255).optional().openapi({ description: "Their last name.", example: "Utomo" }),
  phone: text(255).optional().openapi({
    description: "Their phone number.",
    example: "+628123456789",
  }),
  address: text(255).optional().openapi({
    description: "Street and number.",
    example: "Jalan Merdeka 17",
  }),
  city: text(255).optional().openapi({ description: "The city.", example: "Jakarta" }),
  postal_code: text(10).optional().openapi({ description: "Its postal code.", example: "10110" }),
  country_code: text(3).optional().openapi({
    description: "Three letters (ISO 3166-1); the gateway knows `IDN` alone.",
    example: "IDN",
  }),
}).openapi("Address", { description: "Where somebody lives, or something is sent to." });

export const CustomerSchema = object({
  first_name: text(255).optional().openapi({ description: "Their first name.", example: "Budi" }),
  last_name: text(255).optional().openapi({ description: "Their last name.", example: "Utomo" }),
  email: email().optional().openapi({ description: "Their e-mail address." }),
  phone: text(255).optional().openapi({
    description: "Their phone number.",
    example: "+628123456789",
  }),
  billing_address: AddressSchema.optional(),
  shipping_address: AddressSchema.optional(),
}).openapi("CustomerDetails", {
  description: "Who pays. Banks show the name, and the gateway's fraud detection uses the rest.",
});
