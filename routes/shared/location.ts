/** `Location`: where what was made is to be found. */

export function locationHeader(resource: string, path: string) {
  return {
    Location: {
      description: `The path of the ${resource}.`,
      required: true,
      schema: { type: "string" },
      example: `${path}0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5/`,
    },
  } as const;
}
