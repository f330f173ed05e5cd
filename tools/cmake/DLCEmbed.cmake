# dlc_embed(TARGET NAME FILES...): compiles text files into TARGET as a table of strings,
#   namespace dlc::embed { struct File { const char *name, *text; }; extern const File NAME[]; }
# which ends with a null name. `name` is the file's name without its folder. Changing a file
# rebuilds the table. Texts are cut into pieces, since a compiler may limit the length of one
# literal.
function(dlc_embed target name)
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/EmbedFiles.cmake)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.embed.cpp)
  set(inputs)
  foreach(file IN LISTS ARGN)
    get_filename_component(file ${file} ABSOLUTE)
    list(APPEND inputs ${file})
  endforeach()
  string(REPLACE ";" "|" joined "${inputs}")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DOUTPUT=${output} "-DINPUTS=${joined}" -P ${script}
    DEPENDS ${inputs} ${script} VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
