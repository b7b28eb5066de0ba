/** `customer_details`: who pays. */

import { email, object, text } from "../fields.ts";

export const AddressSchema = object({
  first_name: text(255).optional(),
  last_name: text(255).optional(),
  phone: text(255).optional(),
  address: text(255).optional().openapi({ example: "Jalan Merdeka 17" }),
  city: text(255).optional().openapi({ example: "Jakarta" }),
  postal_code: text(10).optional().openapi({ example: "10110" }),
  country_code: text(3).optional().openapi({
    description: "Three letters (ISO 3166-1); the gateway knows `IDN` alone.",
    example: "IDN",
  }),
}).openapi("Address");

export const CustomerSchema = object({
  first_name: text(255).optional().openapi({ example: "Budi" }),
  last_name: text(255).optional().openapi({ example: "Utomo" }),
  email: email().optional(),
  phone: text(255).optional().openapi({ example: "+628123456789" }),
  billing_address: AddressSchema.optional(),
  shipping_address: AddressSchema.optional(),
}).openapi("CustomerDetails", {
  description: "Who pays. Banks show the name, and the gateway's fraud detection uses the rest.",
});
